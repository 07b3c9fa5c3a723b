import { z } from 'zod';
import { drawingLimits } from '#src/contract/limits.js';
import { declare, json } from '#src/contract/operation.js';

const read = {
  tag: 'locale',
  method: 'GET',
  auth: ['guest', 'user', 'key'],
  scopes: ['locale.read'],
  limit: 'data',
  status: 200,
  errors: [],
} as const;
const bound = { entries: 1000, bytes: 1024 } as const;
/** Options of responses that are the same in every language. */
const fixed = { ...read, bound, cacheSeconds: drawingLimits.cacheSeconds } as const;
/** `{ total, NAME: [entry] }`. */
const listOf = <N extends string, S extends z.ZodType>(name: N, entry: S, id: string) =>
  json(
    z.object({ total: z.int(), [name]: z.array(entry) } as { total: z.ZodInt } & Record<N, z.ZodArray<S>>).meta({ id }),
  );

const country = z.object({ name: z.string(), code: z.string() }).meta({ id: 'Country' });
const countries = listOf('countries', country, 'CountryList');

/** Countries, currencies and languages. */
export const localeApi = declare({
  get: {
    ...read,
    id: 'locale.get',
    path: '/locale',
    summary: 'The address of the caller. The country is unknown, as the service has no map of addresses.',
    reply: json(
      z
        .object({
          ip: z.string(),
          countryCode: z.string(),
          country: z.string(),
          continentCode: z.string(),
          continent: z.string(),
          eu: z.boolean(),
          currency: z.string(),
        })
        .meta({ id: 'Locale' }),
    ),
  },
  listCodes: {
    ...fixed,
    id: 'locale.listCodes',
    path: '/locale/codes',
    summary: 'Lists codes of languages with regional and script variants.',
    reply: listOf(
      'localeCodes',
      z.object({ code: z.string(), name: z.string() }).meta({ id: 'LocaleCode' }),
      'LocaleCodeList',
    ),
  },
  listContinents: {
    ...read,
    id: 'locale.listContinents',
    path: '/locale/continents',
    summary: 'Lists the continents.',
    reply: listOf(
      'continents',
      z.object({ name: z.string(), code: z.string() }).meta({ id: 'Continent' }),
      'ContinentList',
    ),
    bound,
  },
  listCountries: {
    ...read,
    id: 'locale.listCountries',
    path: '/locale/countries',
    summary: 'Lists all countries, named in the language of the caller.',
    reply: countries,
    bound,
  },
  listCountriesEU: {
    ...read,
    id: 'locale.listCountriesEU',
    path: '/locale/countries/eu',
    summary: 'Lists the members of the European Union.',
    reply: countries,
    bound,
  },
  listCountriesPhones: {
    ...read,
    id: 'locale.listCountriesPhones',
    path: '/locale/countries/phones',
    summary: 'Lists the calling codes of countries.',
    reply: listOf(
      'phones',
      z.object({ code: z.string(), countryCode: z.string(), countryName: z.string() }).meta({ id: 'Phone' }),
      'PhoneList',
    ),
    bound,
  },
  listCurrencies: {
    ...fixed,
    id: 'locale.listCurrencies',
    path: '/locale/currencies',
    summary: 'Lists the currencies in use.',
    reply: listOf(
      'currencies',
      z
        .object({
          symbol: z.string(),
          name: z.string(),
          symbolNative: z.string(),
          decimalDigits: z.int(),
          rounding: z.number(),
          code: z.string(),
          namePlural: z.string(),
        })
        .meta({ id: 'Currency' }),
      'CurrencyList',
    ),
  },
  listLanguages: {
    ...fixed,
    id: 'locale.listLanguages',
    path: '/locale/languages',
    summary: 'Lists the languages of ISO 639-1.',
    reply: listOf(
      'languages',
      z.object({ name: z.string(), code: z.string(), nativeName: z.string() }).meta({ id: 'Language' }),
      'LanguageList',
    ),
  },
});
