import type { OptionSpec } from './command.js';

/** Flags that every command takes. */
export const globalOptions: readonly OptionSpec[] = [
  {
    flag: '--config',
    value: 'FILE',
    summary: 'configuration file (default: $SVC_CONFIG, ./svc.env, /etc/svc/svc.env)',
  },
  { flag: '--json', summary: 'one JSON value on stdout; errors as JSON on stderr' },
  { flag: '--quiet', summary: 'less on stderr' },
  { flag: '--verbose', summary: 'more on stderr' },
  { flag: '--no-color', summary: 'plain text; also NO_COLOR, TERM=dumb, or no terminal' },
  { flag: '--no-input', summary: 'never ask; also without a terminal and with --json' },
  { flag: '--yes', summary: 'answer y to moderate questions' },
];
