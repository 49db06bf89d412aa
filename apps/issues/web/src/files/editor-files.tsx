import '../styles/files.css';
import type { AttachedFile } from '@tessera/contracts';
import { type RefObject, useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { useConnection } from '../live/connection.ts';
import { applyEdit } from '../markdown/text-edits.ts';
import { useUser } from '../shell/user.ts';
import { isPicture, sizeText } from './attached.ts';
import { markdownSigns, placeholderOf, placeholdersIn } from './placeholders.ts';
import {
  currentUploads,
  follow,
  goOn,
  onUploads,
  type Phase,
  readUploads,
  retry,
  sendAsItIs,
  takeFiles,
  type Upload,
} from './uploads.ts';

export interface EditorFilesProps {
  /** The scope of the draft that has the text. */
  draft: string;
  text: string;
  onText: (text: string) => void;
  field: RefObject<HTMLTextAreaElement | null>;
  /** Files that the user has just chosen. */
  chosen: readonly File[];
  onTaken: () => void;
  /** Is called with the uploaded files that the text names. */
  onUploaded: (files: readonly AttachedFile[]) => void;
}

/** The most files that a text may name. */
const filesMax = 20;

const phases: Record<Phase, string> = {
  idle: '',
  waiting: 'Waiting…',
  preparing: 'Preparing…',
  sending: 'Uploading…',
  asking: '',
  failed: '',
  lost: '',
  done: 'Uploaded',
};

// The browser would leave the page for a file that is dropped beside an editor.
for (const type of ['dragover', 'drop'] as const)
  addEventListener(type, (event) => {
    if (event.defaultPrevented || !event.dataTransfer?.types.includes('Files')) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = 'none';
  });

/** In its effects, React would set the field back to what it knows, and the field would lose its undo. */
const afterReact = (act: () => void) => queueMicrotask(act);

/** The files of a text that is being written: uploads them, and shows their state in a row for each. */
export function EditorFiles(props: EditorFilesProps) {
  const { draft, text, onText, field, chosen, onTaken, onUploaded } = props;
  const scope = `${useUser().id}/${draft}`;
  const uploads = useSyncExternalStore(onUploads, currentUploads);
  const [refused, setRefused] = useState('');
  const { connection } = useConnection();
  const named = placeholdersIn(text).map(({ id }) => id);
  const rows = [...uploads.values()].filter(
    ({ id, scope: of, uploaded }) =>
      of === scope && (named.includes(id) || (uploaded !== undefined && text.includes(uploaded.id))),
  );

  useEffect(() => {
    readUploads(scope).catch(() => undefined);
  }, [scope]);
  useEffect(() => {
    if (connection !== 'offline') goOn();
  }, [connection]);
  useEffect(() => follow(scope, text), [scope, text]);

  const latest = useRef(props);
  latest.current = props;
  /** Changes the text as typing does. The preview has no field. */
  const edit = (
    change: (text: string, field: HTMLTextAreaElement | null) => readonly [number, number, string],
  ) =>
    afterReact(() => {
      const { current } = field;
      const now = current?.value ?? latest.current.text;
      const [from, to, inserted] = change(now, current);
      const caret = from + inserted.length;
      if (current === null) latest.current.onText(now.slice(0, from) + inserted + now.slice(to));
      else applyEdit(current, { from, to, text: inserted, selection: [caret, caret] });
    });

  useEffect(() => {
    if (chosen.length === 0) return;
    onTaken();
    const room = filesMax - named.length - new Set(text.match(/attachment:[0-9a-f-]{36}/gi)).size;
    const taken = takeFiles(scope, chosen.slice(0, Math.max(0, room)));
    setRefused(
      [
        chosen.length > room && `A text has at most ${filesMax} files.`,
        taken.length < Math.min(chosen.length, room) && 'A file has at most 25 MiB.',
      ]
        .filter(Boolean)
        .join(' '),
    );
    if (taken.length === 0) return;
    const inserted = `${taken.map(({ id, name }) => placeholderOf(id, name)).join('\n')}\n`;
    edit(({ length }, current) => [
      current?.selectionStart ?? length,
      current?.selectionEnd ?? length,
      inserted,
    ]);
  });

  usePlaced(props, rows);

  const done = JSON.stringify(rows.flatMap(({ uploaded }) => uploaded ?? []));
  // biome-ignore lint/correctness/useExhaustiveDependencies: it sets a state of the editor
  useEffect(() => onUploaded(JSON.parse(done)), [done]);

  const remove = ({ id, uploaded }: Upload) => {
    const target =
      uploaded === undefined || named.includes(id) ? `upload:${id}` : `attachment:${uploaded.id}`;
    const pattern = new RegExp(`!?\\[(?:\\\\.|[^\\][\\\\\\n])*\\]\\(${target}\\)\\n?|${target}`);
    edit((now) => {
      const found = pattern.exec(now);
      return found === null ? [0, 0, ''] : [found.index, found.index + found[0].length, ''];
    });
  };

  return (
    <>
      <Announcer rows={rows} />
      {refused !== '' && (
        <p className="file-refused" role="alert">
          {refused}{' '}
          <button type="button" className="quiet" aria-label="Dismiss" onClick={() => setRefused('')}>
            <span aria-hidden="true">✕</span>
          </button>
        </p>
      )}
      {rows.length > 0 && (
        <ul className="files" aria-label="Files of this text">
          {rows.map((row) => (
            <FileRow key={row.id} row={row} text={text} onText={onText} onRemove={() => remove(row)} />
          ))}
        </ul>
      )}
    </>
  );
}

/**
 * Writes the names of files into the text when they are uploaded, as typing does. A placeholder that comes back by the undo of the
 * field stays: otherwise nothing before it could be undone. It is replaced when the text is sent.
 */
function usePlaced({ text, onText, field }: EditorFilesProps, rows: readonly Upload[]): void {
  const placed = useRef(new Set<string>());
  const [isComposing, setComposing] = useState(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the preview has no field
  useEffect(() => {
    const { current } = field;
    const begin = () => setComposing(true);
    const end = () => setComposing(false);
    current?.addEventListener('compositionstart', begin);
    current?.addEventListener('compositionend', end);
    return () => {
      current?.removeEventListener('compositionstart', begin);
      current?.removeEventListener('compositionend', end);
    };
  }, [field.current]);
  const latest = useRef({ text, onText });
  latest.current = { text, onText };
  useEffect(() => {
    // An input method would lose what it composes.
    if (isComposing) return;
    const named = placeholdersIn(text);
    const found = rows.filter(
      ({ id, uploaded }) =>
        uploaded !== undefined && named.some((one) => one.id === id) && !placed.current.has(id),
    );
    for (const { id } of found) placed.current.add(id);
    afterReact(() => {
      for (const { id, uploaded } of found) place(id, uploaded?.markdown ?? '');
    });
  });
  const place = (id: string, markdown: string) => {
    const { current } = field;
    const now = current?.value ?? latest.current.text;
    const placeholder = placeholdersIn(now).find((one) => one.id === id);
    if (placeholder === undefined) return;
    const { from, to } = placeholder;
    // Where the user is elsewhere, the focus stays there.
    if (current === null || current !== document.activeElement)
      return latest.current.onText(now.slice(0, from) + markdown + now.slice(to));
    const { selectionStart, selectionEnd, scrollTop } = current;
    const moved = (at: number) =>
      at <= from ? at : at < to ? from + markdown.length : at + markdown.length - (to - from);
    applyEdit(current, { from, to, text: markdown, selection: [moved(selectionStart), moved(selectionEnd)] });
    current.scrollTop = scrollTop;
  };
}

/** Tells screen readers what has happened to the files. */
function Announcer({ rows }: { rows: readonly Upload[] }) {
  const told = useRef(new Map<string, string>());
  const [said, setSaid] = useState('');
  useEffect(() => {
    const news: string[] = [];
    for (const { id, name, phase, problem } of rows) {
      const now = phases[phase] || problem;
      if (now === '' || now === told.current.get(id)) continue;
      told.current.set(id, now);
      news.push(`${name}: ${now}`);
    }
    if (news.length > 0) setSaid(news.join(' '));
  }, [rows]);
  return (
    <p className="visually-hidden" role="status">
      {said}
    </p>
  );
}

interface FileRowProps {
  row: Upload;
  text: string;
  onText: (text: string) => void;
  onRemove: () => void;
}

function FileRow({ row, text, onText, onRemove }: FileRowProps) {
  const { id, name, size, phase, part, problem, uploaded } = row;
  const isDone = phase === 'done';
  return (
    <li>
      <div className="file-row">
        <span className="file-name" dir="auto">
          {name}
        </span>
        <span className="muted">
          {[size > 0 && sizeText(size), phases[phase]].filter(Boolean).join(', ')}
        </span>
        {phase === 'sending' && <progress value={part} aria-label={`Upload of ${name}`} />}
        <span className="file-actions">
          {phase === 'failed' && (
            <button type="button" aria-label={`Try again: ${name}`} onClick={() => retry(id)}>
              Try again
            </button>
          )}
          {phase === 'asking' && (
            <button type="button" aria-label={`Send as it is: ${name}`} onClick={() => sendAsItIs(id)}>
              Send as it is
            </button>
          )}
          <button type="button" aria-label={`${isDone ? 'Remove' : 'Cancel'} ${name}`} onClick={onRemove}>
            {isDone ? 'Remove' : 'Cancel'}
          </button>
        </span>
      </div>
      {problem !== '' && <p className="form-problem">{problem}</p>}
      {uploaded !== undefined && isPicture(uploaded) && (
        <AltField file={uploaded} text={text} onText={onText} />
      )}
    </li>
  );
}

const altMax = 500;

/** What the picture shows, for those who do not see it. Without it, the name of the file stays. */
function AltField({ file, text, onText }: Pick<FileRowProps, 'text' | 'onText'> & { file: AttachedFile }) {
  const picture = new RegExp(`!\\[((?:\\\\.|[^\\][\\\\])*)\\](?=\\(attachment:${file.id}\\))`);
  const written = picture.exec(text)?.[1]?.replace(/\\(.)/g, '$1');
  const [alt, setAlt] = useState(written === file.name ? '' : (written ?? ''));
  return (
    <label className="file-alt">
      <span>
        Alt text<span className="visually-hidden"> of {file.name}</span>
      </span>
      <input
        value={alt}
        dir="auto"
        maxLength={altMax}
        placeholder="What the picture shows"
        disabled={written === undefined}
        onChange={({ target: { value } }) => {
          setAlt(value);
          const shown = (value.trim() || file.name).replace(markdownSigns, '\\$&');
          onText(text.replace(picture, () => `![${shown}]`));
        }}
      />
    </label>
  );
}
