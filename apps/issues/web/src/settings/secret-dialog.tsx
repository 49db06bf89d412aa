import { useState } from 'react';
import { Dialog } from '../shell/dialog.tsx';

interface SecretDialogProps {
  title: string;
  text: string;
  secret: string;
  onClose: () => void;
}

/** Shows a secret that the service shows only once. */
export function SecretDialog({ title, text, secret, onClose }: SecretDialogProps) {
  const [note, setNote] = useState('');
  const copy = () =>
    navigator.clipboard.writeText(secret).then(
      () => setNote('Copied'),
      () => setNote('The browser does not allow copying. Select the text.'),
    );
  return (
    <Dialog title={title} onClose={onClose} isRequired>
      <p>{text}</p>
      <pre className="secret">{secret}</pre>
      <div className="actions end">
        <span role="status" className="muted">
          {note}
        </span>
        <button type="button" onClick={() => void copy()}>
          Copy
        </button>
        <button type="button" className="primary" onClick={onClose}>
          I have stored it
        </button>
      </div>
    </Dialog>
  );
}
