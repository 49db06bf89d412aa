import { Icon } from '../shell/icons.tsx';

export const PaperclipIcon = () => (
  <Icon>
    <path d="m13 7.2-5.2 5.2a3 3 0 0 1-4.3-4.3l5.6-5.6a2 2 0 0 1 2.9 2.9l-5.5 5.5a1 1 0 0 1-1.5-1.4l4.8-4.8" />
  </Icon>
);
