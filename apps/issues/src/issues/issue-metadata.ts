import {
  createIssueSchema,
  type FieldDescription,
  type IssueDescription,
  issueLabelsMax,
  issuePriorities,
  labelNameMaxLength,
  linkRelations,
  linksMax,
  linkTypes,
} from '@tessera/contracts';
import { z } from 'zod';

// Members that are more than a text. The others are described by their schemas.
const described: Readonly<Record<string, FieldDescription>> = {
  priority: {
    type: 'choice',
    required: false,
    read_only: false,
    label: 'Priority',
    default: createIssueSchema.shape.priority.parse(undefined),
    choices: issuePriorities.map(toChoice),
  },
  assignee_id: { type: 'field', required: false, read_only: false, label: 'Assignee' },
  assignee_email: { type: 'email', required: false, read_only: false, label: 'E-mail of the assignee' },
  due_on: { type: 'date', required: false, read_only: false, label: 'Due on' },
  links: {
    type: 'list',
    required: false,
    read_only: false,
    label: 'Links',
    max_length: linksMax,
    child: {
      type: 'nested object',
      children: {
        type: { type: 'choice', required: true, choices: linkTypes.map(toChoice) },
        ref: { type: 'string', required: true },
        title: { type: 'string', required: false },
        url: { type: 'url', required: false },
        relation: { type: 'choice', required: false, choices: linkRelations.map(toChoice) },
        metadata: { type: 'field', required: false },
      },
    },
  },
  labels: {
    type: 'list',
    required: false,
    read_only: false,
    label: 'Labels',
    max_length: issueLabelsMax,
    child: { type: 'string', required: true, max_length: labelNameMaxLength },
  },
};

// A new issue is always open, so the status is no choice.
const { status: _status, ...writable } = createIssueSchema.shape;

/** The OPTIONS response for creating an issue, in the format of Django REST framework. */
export const issueMetadata: IssueDescription = {
  name: 'Issues',
  description: 'List and create issues.',
  renders: ['application/json', 'application/problem+json'],
  parses: ['application/json'],
  actions: { POST: describeMembers(writable) },
};

/** Describes the members of a request in the order of their declaration. */
export function describeMembers(
  members: Readonly<Record<string, z.ZodType>>,
): Record<string, FieldDescription> {
  return Object.fromEntries(
    Object.entries(members).map(([name, schema]) => [name, described[name] ?? describeText(name, schema)]),
  );
}

function describeText(name: string, schema: z.ZodType): FieldDescription {
  const json = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  const text = [json, ...(json.anyOf ?? [])].find(({ type }) => type === 'string');
  return {
    type: text === undefined ? 'field' : 'string',
    required: !schema.safeParse(undefined).success,
    read_only: false,
    label: toWords(name),
    ...(text?.maxLength === undefined ? {} : { max_length: text.maxLength }),
  };
}

function toChoice(value: string) {
  return { value, display_name: toWords(value) };
}

function toWords(name: string): string {
  const words = name.replaceAll('_', ' ').toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}
