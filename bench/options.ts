import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Database, Scenario } from './scenario-kinds.js';
import { scenarios } from './scenarios.js';

/** What the command line asks for. */
export interface Options {
  readonly rounds: number;
  readonly seconds: number;
  readonly warmupSeconds: number;
  readonly databases: readonly Database[];
  readonly only: readonly string[];
  readonly assert: boolean;
  readonly json: string | undefined;
  readonly profile: string | undefined;
  /** A checkout of another version, built, that is measured in the place of what rows are compared with. */
  readonly against: string | undefined;
  /** Servers over the one database. More than one are compared with one. */
  readonly servers: number;
  /** Documents of each collection with document security. */
  readonly size: number;
  /** What `--json` wrote of a run with another number of documents. */
  readonly compare: string | undefined;
}

/** The number of documents at which lists are held against bare Koa. */
export const usualSize = 10_000;
const largestSize = 10_000_000;

const usage = `npm run bench -- [options]

  --rounds N         rounds per scenario (3)
  --seconds S        counted seconds per round (3), after three seconds of warm-up
  --only NAME        one scenario, or with * at the end those whose names begin so; may be repeated:
                     ${scenarios.map(({ name }) => `"${name}"`).join(', ')}
  --database NAME    sqlite or postgres; may be repeated (both, one after the other)
  --json FILE        also write every number to FILE
  --profile DIR      record a CPU profile of the server into DIR and list the hottest functions
  --against DIR      compare with the build of another checkout instead, on a database of its own
  --servers N        compare N servers over one database with one of them
  --rows N           documents in each collection with document security (${usualSize}), a multiple of 100
  --compare FILE     hold the cost of lists against that of another run, which wrote FILE by --json
  --assert           a missed target is exit code 1
`;

/** Reads the command line; undefined after printing the help. */
export function readOptions(argv: readonly string[]): Options | undefined {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      rounds: { type: 'string', default: '3' },
      seconds: { type: 'string', default: '3' },
      only: { type: 'string', multiple: true, default: [] },
      database: { type: 'string', multiple: true, default: ['sqlite', 'postgres'] },
      json: { type: 'string' },
      profile: { type: 'string' },
      against: { type: 'string' },
      servers: { type: 'string', default: '1' },
      rows: { type: 'string', default: String(usualSize) },
      compare: { type: 'string' },
      assert: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(usage);
    return undefined;
  }
  const unknown = values.only.find((name) => !scenarios.some((scenario) => isChosen(scenario, [name])));
  if (unknown !== undefined) throw new Error(`no scenario is called "${unknown}"; --help lists them`);
  return {
    rounds: positive('--rounds', values.rounds),
    seconds: positive('--seconds', values.seconds),
    warmupSeconds: 3,
    databases: values.database.map(toDatabase),
    only: values.only,
    assert: values.assert,
    json: values.json,
    profile: values.profile,
    against: values.against === undefined ? undefined : resolve(values.against),
    servers: positive('--servers', values.servers),
    size: toSize(values.rows),
    compare: values.compare,
  };
}

/** Whether a scenario is meant by one of the names of `--only`; without any all are. */
export function isChosen({ name }: Scenario, only: readonly string[]): boolean {
  return (
    only.length === 0 || only.some((one) => (one.endsWith('*') ? name.startsWith(one.slice(0, -1)) : one === name))
  );
}

function toSize(text: string): number {
  const size = Number(text);
  if (Number.isInteger(size) && size >= usualSize && size <= largestSize && size % 100 === 0) return size;
  throw new Error(`--rows takes a multiple of 100 from ${usualSize} to ${largestSize}, not "${text}"`);
}

function positive(flag: string, text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1 || number > 600) throw new Error(`${flag} takes 1 to 600, not "${text}"`);
  return number;
}

function toDatabase(name: string): Database {
  if (name === 'sqlite' || name === 'postgres') return name;
  throw new Error(`--database takes sqlite or postgres, not "${name}"`);
}
