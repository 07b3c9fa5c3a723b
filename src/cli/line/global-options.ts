import type { OptionSpec } from './command.js';

/** Flags of every command. */
export const globalOptions: readonly OptionSpec[] = [
  {
    flag: '--config',
    value: 'FILE',
    summary: 'configuration file (default: $SVC_CONFIG, ./svc.env, /etc/svc/svc.env)',
  },
  { flag: '--json', summary: 'print one JSON value on stdout, and errors as JSON on stderr' },
  { flag: '--quiet', summary: 'print less on stderr' },
  { flag: '--verbose', summary: 'print more on stderr' },
  { flag: '--no-color', summary: 'do not use colors; the default with NO_COLOR or TERM=dumb, or without a terminal' },
  { flag: '--no-input', summary: 'never prompt; the default without a terminal or with --json' },
  { flag: '--yes', summary: 'answer yes to y/N questions' },
];
