import { useState } from 'react';
import { areShortcutsOn, setShortcuts } from './commands.ts';

/** WCAG 2.1.4: shortcuts of a single character can be turned off. */
export function ShortcutSwitch() {
  const [isOn, setOn] = useState(areShortcutsOn);
  return (
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
  );
}
