import { useState } from 'react';
import { Dialog } from './dialog.tsx';
import { areShortcutsOn, setShortcuts } from './shortcuts.ts';

const keys = [
  ['j', 'Next issue'],
  ['k', 'Previous issue'],
  ['Enter', 'Open the issue'],
  ['x', 'Select the issue'],
  ['/', 'Search'],
  ['c', 'New issue'],
  ['?', 'This list'],
  ['Esc', 'Close, or end editing; drafts stay'],
  ['Ctrl Enter', 'Send the text'],
] as const;

export function KeyboardHelp({ onClose }: { onClose: () => void }) {
  const [isOn, setOn] = useState(areShortcutsOn);
  return (
    <Dialog title="Keyboard" onClose={onClose}>
      <dl className="keys">
        {keys.map(([key, meaning]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <label className="check">
        <input
          type="checkbox"
          checked={isOn}
          onChange={({ target }) => {
            setShortcuts(target.checked);
            setOn(target.checked);
          }}
        />
        Shortcuts of a single key
      </label>
    </Dialog>
  );
}
