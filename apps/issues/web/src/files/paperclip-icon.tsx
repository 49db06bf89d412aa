import { Icon } from '../shell/icons.tsx';

export const PaperclipIcon = () => (
  <Icon>
    <path d="m14.3 7.4-6.1 6.1a4 4 0 0 1-5.7-5.7l6.1-6.1a2.7 2.7 0 0 1 3.8 3.8l-6.1 6.1a1.3 1.3 0 0 1-1.9-1.9l5.7-5.7" />
  </Icon>
);
