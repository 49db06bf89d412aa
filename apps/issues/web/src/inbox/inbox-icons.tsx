import { Icon } from '../shell/icons.tsx';

export const CheckIcon = () => (
  <Icon>
    <path d="m3 8.5 3.2 3.2L13 4.8" />
  </Icon>
);

export const ClockIcon = () => (
  <Icon>
    <circle cx="8" cy="8" r="5.5" />
    <path d="M8 4.8V8l2.2 1.6" />
  </Icon>
);

/** The sun over a calm sea, for an inbox in which nothing is left. */
export const CalmPicture = () => (
  <svg className="calm" viewBox="0 0 160 96" width="160" height="96" fill="none" aria-hidden="true">
    <path className="calm-sun" d="M50 62a30 30 0 0 1 60 0z" />
    <g className="calm-rays" strokeWidth="3" strokeLinecap="round">
      <path d="M80 12v8M45 27l5 6M115 27l-5 6M28 56h8M124 56h8" />
    </g>
    <g className="calm-sea" strokeWidth="3" strokeLinecap="round">
      <path d="M12 66h136M34 77h92M58 88h44" />
    </g>
  </svg>
);
