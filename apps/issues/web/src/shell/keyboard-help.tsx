import { shownKeys, useAllCommands } from './commands.ts';
import { Dialog } from './dialog.tsx';
import { ShortcutSwitch } from './shortcut-switch.tsx';

// Keys that the browser or a field handles.
const others = [
  ['Ctrl K', 'Commands (⌘ K on a Mac)'],
  ['Enter', 'Open the issue that has the focus'],
  ['1 – 9', 'Choose in an open list, while its field is empty'],
  ['Shift Click', 'Select all from the last selected issue to this one'],
  ['Ctrl Enter', 'Send the text'],
  ['Esc', 'Close a list, then leave the field; drafts stay'],
] as const;

/** The keys of the page from which it is opened. */
export function KeyboardHelp({ onClose }: { onClose: () => void }) {
  const commands = useAllCommands().flatMap(({ key, name, group = 'This page' }) =>
    key === undefined || key === 'Escape' ? [] : [[key, name, group] as const],
  );
  const all = [...commands, ...others.map(([key, name]) => [key, name, 'Lists and fields'] as const)];
  return (
    <Dialog title="Keyboard" onClose={onClose} isWide>
      <div className="keys">
        {[...new Set(all.map(([, , group]) => group))].map((group) => (
          <section key={group} aria-label={group}>
            <h3>{group}</h3>
            <dl>
              {all
                .filter(([, , of]) => of === group)
                .map(([key, name]) => (
                  <div key={key}>
                    <dt>
                      {shownKeys(key).map((one) => (
                        <kbd key={one}>{one}</kbd>
                      ))}
                    </dt>
                    <dd>{name}</dd>
                  </div>
                ))}
            </dl>
          </section>
        ))}
      </div>
      <ShortcutSwitch />
    </Dialog>
  );
}
