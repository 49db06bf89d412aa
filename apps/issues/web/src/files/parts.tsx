import { lazyPart } from '../shell/lazy-part.tsx';
import type { EditorFilesProps } from './editor-files.tsx';

/** Loaded after the editor is shown, so that it is there without a connection. */
export const EditorFiles = lazyPart<EditorFilesProps>(
  async () => (await import('./editor-files.tsx')).EditorFiles,
  () => null,
  (retry) => (
    <p className="form-problem" role="alert">
      Files cannot be attached: the server cannot be reached.{' '}
      <button type="button" onClick={retry}>
        Try again
      </button>
    </p>
  ),
);
