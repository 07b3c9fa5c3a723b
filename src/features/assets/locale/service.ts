// Imported at its first use: loading the data takes some milliseconds, and most installations never need it.
import available from 'cldr-core/availableLocales.json' with { type: 'json' };
import currencyData from 'cldr-core/supplemental/currencyData.json' with { type: 'json' };
import territories from 'cldr-core/supplemental/territoryContainment.json' with { type: 'json' };
import { continents, countries, languages } from 'countries-list';

interface Named {
  readonly code: string;
  readonly name: string;
}

const fallback = 'en';
/** CLDR regions used as continents. CLDR has none for Antarctica; there it is a territory. */
const regions = { AF: '002', AN: 'AQ', AS: '142', EU: '150', NA: '003', OC: '009', SA: '005' } as const;
const { EU } = territories.supplemental.territoryContainment;
const fractions: Readonly<Record<string, { readonly _rounding: string } | undefined>> =
  currencyData.supplemental.currencyData.fractions;

/** The language of the names in the response. English if the tag is malformed or unsupported. */
export function languageOf(requested: string | null): string {
  try {
    return Intl.DisplayNames.supportedLocalesOf(requested ?? fallback)[0] ?? fallback;
  } catch {
    return fallback;
  }
}

/** The name for an unknown country. */
export function unknownRegion(language: string): string {
  return nameIn(language, 'region')('ZZ');
}

/** Countries by name. */
export function listCountries(language: string, codes: readonly string[] = Object.keys(countries)): Named[] {
  const name = nameIn(language, 'region');
  return byName(
    language,
    codes.map((code) => ({ code, name: name(code) })),
  );
}

/** Members of the European Union by name. */
export function listCountriesEU(language: string): Named[] {
  return listCountries(language, EU._contains);
}

/** Continents by name. */
export function listContinents(language: string): Named[] {
  const name = nameIn(language, 'region');
  const codes = Object.keys(continents) as (keyof typeof continents)[];
  return byName(
    language,
    codes.map((code) => ({ code, name: name(regions[code]) })),
  );
}

/** Calling codes in numeric order. A country with several codes has an entry for each. */
export function listPhones(language: string) {
  return listCountries(language)
    .flatMap(({ code, name }) =>
      countries[code as keyof typeof countries].phone.map((phone) => ({ phone, countryCode: code, countryName: name })),
    )
    .sort((a, b) => a.phone - b.phone)
    .map(({ phone, ...rest }) => ({ code: `+${phone}`, ...rest }));
}

/** Languages by code. */
export function listLanguages() {
  return Object.entries(languages)
    .map(([code, { name, native }]) => ({ name, code, nativeName: native }))
    .sort(byCode);
}

/** CLDR locales, by code. */
export function listCodes(): Named[] {
  const name = nameIn(fallback, 'language');
  return available.availableLocales.full.map((code) => ({ code, name: name(code) })).sort(byCode);
}

/** Currencies in use by code. */
export function listCurrencies() {
  const users = new Map<string, string>();
  // Prefers the country that issues the currency: its code is the start of the currency's code, such as US in USD.
  for (const [country, { currency }] of Object.entries(countries))
    for (const code of currency) if (!users.has(code) || code.startsWith(country)) users.set(code, country);
  const known = new Set(Intl.supportedValuesOf('currency'));
  return [...users]
    .filter(([code]) => known.has(code))
    .map(([code, country]) => currencyOf(code, country))
    .sort(byCode);
}

function currencyOf(code: string, country: string) {
  const format = (locale: string, currencyDisplay: 'symbol' | 'name') =>
    new Intl.NumberFormat(locale, { style: 'currency', currency: code, currencyDisplay });
  const part = (one: Intl.NumberFormat, amount: number) =>
    one.formatToParts(amount).find(({ type }) => type === 'currency')?.value ?? code;
  const native = new Intl.Locale(`und-${country}`).maximize().toString();
  const english = format(fallback, 'symbol');
  return {
    symbol: part(english, 1),
    name: nameIn(fallback, 'currency')(code),
    symbolNative: part(format(native, 'symbol'), 1),
    decimalDigits: english.resolvedOptions().maximumFractionDigits ?? 2,
    rounding: Number(fractions[code]?._rounding ?? 0),
    code,
    namePlural: part(format(fallback, 'name'), 2),
  };
}

function nameIn(language: string, type: Intl.DisplayNamesType): (code: string) => string {
  const names = new Intl.DisplayNames(language, { type });
  return (code) => names.of(code) ?? code;
}

function byName(language: string, entries: Named[]): Named[] {
  const { compare } = new Intl.Collator(language);
  return entries.sort((a, b) => compare(a.name, b.name));
}

function byCode(a: { readonly code: string }, b: { readonly code: string }): number {
  return a.code < b.code ? -1 : 1;
}
