// The rules of `promtool check metrics` (client_golang, promlint) over the text that /metrics answers.

/** A metric as the exposition format shows it. */
interface Family {
  readonly name: string;
  help: string;
  type: string;
  readonly labels: Set<string>;
  /** How often it is announced. */
  types: number;
}

/** Units that have a base unit of their own; any prefix goes with any of them. */
const baseUnits: Readonly<Record<string, string>> = {
  ...{ minutes: 'seconds', hours: 'seconds', days: 'seconds', weeks: 'seconds', kelvins: 'celsius', kelvin: 'celsius' },
  ...{ fahrenheit: 'celsius', rankine: 'celsius', inches: 'meters', yards: 'meters', miles: 'meters', bits: 'bytes' },
  ...{ calories: 'joules', pounds: 'grams', ounces: 'grams', percent: 'ratio' },
};
const plainUnits = ['amperes', 'bytes', 'celsius', 'grams', 'joules', 'meters', 'metres', 'moles', 'seconds', 'volts'];
const prefixes = [
  ...['pico', 'nano', 'micro', 'milli', 'centi', 'deci', 'deca', 'hecto', 'kilo', 'kibi', 'mega', 'mibi', 'mebi'],
  ...['giga', 'gibi', 'tera', 'tebi', 'peta', 'pebi'],
];
const abbreviations = ['s', 'ms', 'us', 'ns', 'sec', 'b', 'kb', 'mb', 'gb', 'tb', 'pb', 'm', 'h', 'd'];
const camelCase = /[a-z][A-Z]/;

type Rule = (family: Family) => string | undefined;
const holds = (name: string, word: string) => name.includes(`_${word}_`) || name.endsWith(`_${word}`);
const isDistribution = ({ type }: Family) => type === 'histogram' || type === 'summary';

/** Each tells what is wrong, or nothing. */
const rules: Readonly<Record<string, Rule>> = {
  help: ({ help }) => (help.trim() === '' ? 'no help text' : undefined),
  type: ({ type }) =>
    ['counter', 'gauge', 'histogram', 'summary'].includes(type) ? undefined : `type ${type || 'unknown'}`,
  duplicate: ({ types }) => (types > 1 ? 'announced more than once' : undefined),
  unit: ({ name }) => {
    for (const part of name.split('_')) {
      const base = baseUnits[part];
      if (base !== undefined) return `use base unit ${base} instead of ${part}`;
      const prefix = prefixes.find((one) => part.startsWith(one) && part !== one);
      const rest = prefix === undefined ? '' : part.slice(prefix.length);
      if (plainUnits.includes(rest)) return `use base unit ${rest} instead of ${part}`;
      if (rest in baseUnits) return `use base unit ${baseUnits[rest]} instead of ${part}`;
    }
    return undefined;
  },
  abbreviation: ({ name }) => {
    const found = abbreviations.find((word) => holds(name.toLowerCase(), word));
    return found && `abbreviated unit ${found}`;
  },
  counter: ({ name, type }) => {
    if ((type === 'counter') === name.endsWith('_total')) return undefined;
    return type === 'counter' ? 'counter without _total' : 'no counter, but named _total';
  },
  reserved: (family) => {
    if (isDistribution(family)) return undefined;
    const suffix = ['_bucket', '_count', '_sum'].find((one) => family.name.endsWith(one));
    if (suffix !== undefined && !(family.type === 'counter')) return `suffix ${suffix} of histograms and summaries`;
    return undefined;
  },
  label: ({ type, labels }) => {
    if (type !== 'histogram' && labels.has('le')) return 'label le outside of a histogram';
    return type !== 'summary' && labels.has('quantile') ? 'label quantile outside of a summary' : undefined;
  },
  typeInName: ({ name, type }) =>
    type !== '' && holds(name.toLowerCase(), type) ? `type ${type} in the name` : undefined,
  colon: ({ name }) => (name.includes(':') ? 'a colon, which is for recording rules' : undefined),
  camelCase: ({ name, labels }) => {
    const found = [name, ...labels].find((one) => camelCase.test(one));
    return found && `${found} is not snake_case`;
  },
};

function familiesOf(text: string): Family[] {
  const families = new Map<string, Family>();
  const family = (name: string): Family => {
    const found = families.get(name) ?? { name, help: '', type: '', labels: new Set<string>(), types: 0 };
    families.set(name, found);
    return found;
  };
  for (const line of text.split('\n')) {
    const [, word, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) ?(.*)$/.exec(line) ?? [];
    if (word === 'HELP') family(name).help = rest;
    if (word === 'TYPE') {
      family(name).type = rest;
      family(name).types += 1;
    }
    if (line === '' || line.startsWith('#')) continue;
    const [, sample = line, labels = ''] = /^([^\s{]+)(?:\{(.*)\})?\s/.exec(line) ?? [];
    const base = sample.replace(/_(bucket|sum|count)$/, '');
    const owner = families.get(sample) ?? (isDistribution(family(base)) ? family(base) : family(sample));
    for (const [, label = ''] of labels.matchAll(/([A-Za-z_]\w*)="(?:[^"\\]|\\.)*"/g)) owner.labels.add(label);
  }
  return [...families.values()].filter(({ type, help, labels }) => type !== '' || help !== '' || labels.size > 0);
}

/** What promtool would say of a text in the exposition format: `metric: problem`. */
export function lintMetrics(text: string): string[] {
  return familiesOf(text).flatMap((family) =>
    Object.values(rules).flatMap((rule) => {
      const problem = rule(family);
      return problem === undefined ? [] : [`${family.name}: ${problem}`];
    }),
  );
}
