import { shownKeys, useAllCommands } from './commands.ts';
import { Dialog } from './dialog.tsx';
import { ShortcutSwitch } from './shortcut-switch.tsx';

// Keys that the browser, a list or a field handles.
const others = [
  ['Ctrl K', 'Commands (⌘ K on a Mac)', 'This page'],
  ['Enter', 'Open the issue that has the focus', 'Lists'],
  ['1 – 9', 'Choose in an open list, while its field is empty', 'Lists'],
  ['Shift Click', 'Select all from the last selected issue to this one', 'Lists'],
  ['Esc', 'Close a list, then leave the field; drafts stay', 'Lists'],
  ['@', 'Mention a person', 'In a text'],
  ['#', 'Name an issue by its number or words', 'In a text'],
  ['Ctrl B', 'Bold', 'In a text'],
  ['Ctrl I', 'Italic', 'In a text'],
  ['Ctrl K', 'Link', 'In a text'],
  ['Ctrl Enter', 'Send the text', 'In a text'],
] as const;

/** The keys of the page from which it is opened. */
export function KeyboardHelp({ onClose }: { onClose: () => void }) {
  const commands = useAllCommands().flatMap(({ key, name, group = 'This page' }) =>
    key === undefined ? [] : [[key, name, group] as const],
  );
  const all = [...commands, ...others];
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
