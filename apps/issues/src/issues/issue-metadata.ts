import {
  descriptionMaxLength,
  type IssueDescription,
  issueLabelsMax,
  issuePriorities,
  labelNameMaxLength,
  linkRelations,
  linksMax,
  linkTypes,
  titleMaxLength,
} from '@tessera/contracts';

/** The OPTIONS response for creating an issue, in the format of Django REST framework. */
export const issueMetadata: IssueDescription = {
  name: 'Issues',
  description: 'List and create issues.',
  renders: ['application/json', 'application/problem+json'],
  parses: ['application/json'],
  actions: {
    POST: {
      title: { type: 'string', required: true, read_only: false, label: 'Title', max_length: titleMaxLength },
      description: {
        type: 'string',
        required: false,
        read_only: false,
        label: 'Description',
        max_length: descriptionMaxLength,
      },
      priority: {
        type: 'choice',
        required: false,
        read_only: false,
        label: 'Priority',
        default: 'MEDIUM',
        choices: issuePriorities.map(toChoice),
      },
      assignee_id: { type: 'field', required: false, read_only: false, label: 'Assignee' },
      assignee_email: { type: 'email', required: false, read_only: false, label: 'E-mail of the assignee' },
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
    },
  },
};

function toChoice(value: string) {
  const words = value.replaceAll('_', ' ').toLowerCase();
  return { value, display_name: words.charAt(0).toUpperCase() + words.slice(1) };
}
