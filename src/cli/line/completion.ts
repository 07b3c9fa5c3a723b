import { verbsAfter } from './aliases.js';
import type { Command, OptionSpec } from './command.js';

/** The candidates after certain words of a command line. */
interface CompletionPoint {
  /** The preceding words. If the point accepts further words, they are matched as a prefix. */
  readonly words: string;
  readonly isCommand: boolean;
  readonly candidates: readonly string[];
  /** Noun whose ids complete the first argument. */
  readonly values: string | undefined;
  readonly options: readonly OptionSpec[];
}

/** Shells with a completion script. */
export const shells = ['bash', 'zsh', 'fish'] as const;

/** Generates a completion script for all commands and flags. */
export function completionScript(
  shell: (typeof shells)[number],
  commands: readonly Command[],
  globalOptions: readonly OptionSpec[],
): string {
  const places = completionPoints(commands);
  return shell === 'fish' ? fish(places, globalOptions) : posix(shell, places, globalOptions);
}

function completionPoints(commands: readonly Command[]): CompletionPoint[] {
  const words = [...new Set(verbsAfter('', commands))];
  const groups = words.filter((word) => verbsAfter(word, commands).length > 0);
  const defaults = (group: string) => commands.find(({ path, isDefault }) => isDefault && path.startsWith(`${group} `));
  return [
    ...commands.map(({ path, options = [], arguments: positional = [] }) => ({
      words: path,
      isCommand: true,
      candidates: positional.flatMap(({ choices = [] }) => choices),
      values: positional[0]?.values,
      options,
    })),
    ...groups.map((group) => ({
      words: group,
      isCommand: false,
      candidates: verbsAfter(group, commands),
      values: undefined,
      options: defaults(group)?.options ?? [],
    })),
    {
      words: '',
      isCommand: false,
      candidates: words,
      values: undefined,
      options: [],
    },
  ];
}

function flagsWithValue(places: readonly CompletionPoint[], globalOptions: readonly OptionSpec[]): string[] {
  const all = [...globalOptions, ...places.flatMap(({ options }) => options)];
  return [...new Set(all.filter(({ value }) => value !== undefined).flatMap(namesOf))];
}

/** The flag and its short form. */
function namesOf({ flag, short }: Pick<OptionSpec, 'flag' | 'short'>): string[] {
  return short === undefined ? [flag] : [short, flag];
}

/** Flags with known values, without duplicates. Omits flags whose meaning differs between commands. */
function distinctFlags(places: readonly CompletionPoint[]): OptionSpec[] {
  const known = places.flatMap(({ options }) => options).filter(({ choices, values }) => choices ?? values);
  const meaning = ({ choices, values }: OptionSpec) => choices?.join(' ') ?? values;
  return known.filter(
    (one, at) =>
      known.findIndex(({ flag }) => flag === one.flag) === at &&
      known.every((other) => other.flag !== one.flag || meaning(other) === meaning(one)),
  );
}

/** Generates the script for bash or zsh. They share the syntax used here, but differ in how words and candidates are passed. */
function posix(
  shell: 'bash' | 'zsh',
  places: readonly CompletionPoint[],
  globalOptions: readonly OptionSpec[],
): string {
  const isBash = shell === 'bash';
  const [word, first, current] = isBash ? ['COMP_WORDS', 1, 'COMP_CWORD'] : ['words', 2, 'CURRENT'];
  const everywhere = [...globalOptions.map(({ flag }) => flag), '--help'];
  const options = distinctFlags(places);
  const ids = (noun: string) => `$(svc ids ${noun} "\${where[@]}" 2>/dev/null)`;
  const branch = (place: CompletionPoint) => {
    const words = [...place.candidates, ...place.options.map(({ flag }) => flag), ...everywhere].join(' ');
    const own =
      place.values === undefined ? [] : [`    '${place.words}') candidates="${ids(place.values)} ${words}" ;;`];
    return [...own, `    '${place.words}'${place.isCommand ? ` | '${place.words} '*` : ''}) candidates="${words}" ;;`];
  };
  return [
    ...(isBash ? [] : ['#compdef svc']),
    '_svc() {',
    '  local line="" candidates="" previous i',
    '  local -a where=()',
    `  for ((i = ${first}; i < ${current}; i++)); do`,
    `    case "\${${word}[i]}" in`,
    `      -p | --project | --database | --config) where+=("\${${word}[i]}" "\${${word}[i + 1]}"); ((i++)) ;;`,
    `      ${flagsWithValue(places, globalOptions).join(' | ')}) ((i++)) ;;`,
    '      -*) ;;',
    `      *) line="\${line:+$line }\${${word}[i]}" ;;`,
    '    esac',
    '  done',
    '  case "$line" in',
    ...places.flatMap(branch),
    '  esac',
    `  previous="\${${word}[${current} - 1]}"`,
    // After a flag that takes a value, commands and flags are not candidates.
    `  case "$previous" in ${flagsWithValue(places, globalOptions).join(' | ')}) candidates="" ;; esac`,
    '  case "$previous" in',
    ...options.map(
      ({ choices: values, values: noun, ...names }) =>
        `    ${namesOf(names).join(' | ')}) candidates="${values?.join(' ') ?? (noun === undefined ? '' : ids(noun))}" ;;`,
    ),
    '  esac',
    ...(isBash ? [] : ['  if [[ -z "$candidates" ]]; then _files; return; fi']),
    isBash
      ? `  COMPREPLY=($(compgen -W "$candidates" -- "\${COMP_WORDS[COMP_CWORD]}"))`
      : `  compadd -- \${=candidates}`,
    '}',
    isBash ? 'complete -o default -F _svc svc' : 'compdef _svc svc',
  ].join('\n');
}

function fish(places: readonly CompletionPoint[], globalOptions: readonly OptionSpec[]): string {
  const quote = (text: string) => `'${text.replace(/[\\']/g, '\\$&')}'`;
  const when = ({ words, isCommand }: CompletionPoint) =>
    quote(`string match -qr -- "^${words}${isCommand ? '( |\\$)' : '\\$'}" (__svc_line)`);
  const ids = (noun: string) => quote(`(svc ids ${noun} (__svc_where) 2>/dev/null)`);
  const option = ({ flag, short, value, summary, choices, values }: OptionSpec, condition = '') =>
    `complete -c svc${condition} -l ${flag.slice(2)}${short === undefined ? '' : ` -s ${short.slice(1)}`}${value === undefined ? '' : values === undefined && choices === undefined ? ' -rF' : ' -r'}` +
    `${choices === undefined ? '' : ` -f -a ${quote(choices.join(' '))}`}` +
    `${values === undefined ? '' : ` -f -a ${ids(values)}`} -d ${quote(summary)}`;
  return [
    'function __svc_line',
    '  set -l line',
    '  set -l skip 0',
    '  set -l words (commandline -opc)',
    '  set -e words[1]',
    '  for word in $words',
    '    if test $skip = 1',
    '      set skip 0',
    '      continue',
    '    end',
    '    switch $word',
    `      case ${flagsWithValue(places, globalOptions).join(' ')}`,
    '        set skip 1',
    "      case '-*'",
    "      case '*'",
    '        set -a line $word',
    '    end',
    '  end',
    '  echo "$line"',
    'end',
    'function __svc_where',
    '  set -l words (commandline -opc)',
    '  for i in (seq 2 (math (count $words) - 1))',
    '    switch $words[$i]',
    '      case -p --project --database --config',
    '        printf "%s\\n" $words[$i] $words[(math $i + 1)]',
    '    end',
    '  end',
    'end',
    'complete -c svc -f',
    ...globalOptions.map((one) => option(one)),
    ...places.flatMap((place) => [
      `complete -c svc -n ${when(place)} -a ${quote(place.candidates.join(' '))}`,
      ...(place.values === undefined
        ? []
        : [`complete -c svc -n ${when({ ...place, isCommand: false })} -a ${ids(place.values)}`]),
      ...place.options.map((one) => option(one, ` -n ${when(place)}`)),
    ]),
  ].join('\n');
}
