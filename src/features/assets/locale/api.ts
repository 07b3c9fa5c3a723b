import { z } from 'zod';
import { anyone, declare, json } from '#src/contract/declaration.js';
import { drawingLimits } from '#src/contract/limits.js';

const read = { tag: 'locale', method: 'GET', access: anyone('locale.read'), limits: { calls: 'data' } } as const;
/** Lists in the language of the caller: `{ total, NAME: [entry] }`. */
const listOf = <N extends string, S extends z.ZodType>(name: N, entry: S, id: string) =>
  ({
    status: 200,
    shape: json(
      z
        .object({ total: z.int(), [name]: z.array(entry) } as { total: z.ZodInt } & Record<N, z.ZodArray<S>>)
        .meta({ id }),
    ),
    bound: { entries: 1000, bytes: 1024 },
    errors: [],
  }) as const;
/** Lists that are the same in every language. */
const fixedListOf = <N extends string, S extends z.ZodType>(name: N, entry: S, id: string) =>
  ({ ...listOf(name, entry, id), cacheSeconds: drawingLimits.cacheSeconds }) as const;

const country = z.object({ name: z.string(), code: z.string() }).meta({ id: 'Country' });
const countries = listOf('countries', country, 'CountryList');

/** Countries, currencies and languages. */
export const localeApi = declare({
  get: {
    ...read,
    id: 'locale.get',
    path: '/locale',
    summary: 'The address of the caller. The country is unknown, as the service has no map of addresses.',
    reply: {
      status: 200,
      shape: json(
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
      errors: [],
    },
  },
  listCodes: {
    ...read,
    id: 'locale.listCodes',
    path: '/locale/codes',
    summary: 'Lists codes of languages with regional and script variants.',
    reply: fixedListOf(
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
  },
  listCountries: {
    ...read,
    id: 'locale.listCountries',
    path: '/locale/countries',
    summary: 'Lists all countries, named in the language of the caller.',
    reply: countries,
  },
  listCountriesEU: {
    ...read,
    id: 'locale.listCountriesEU',
    path: '/locale/countries/eu',
    summary: 'Lists the members of the European Union.',
    reply: countries,
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
  },
  listCurrencies: {
    ...read,
    id: 'locale.listCurrencies',
    path: '/locale/currencies',
    summary: 'Lists the currencies in use.',
    reply: fixedListOf(
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
    ...read,
    id: 'locale.listLanguages',
    path: '/locale/languages',
    summary: 'Lists the languages of ISO 639-1.',
    reply: fixedListOf(
      'languages',
      z.object({ name: z.string(), code: z.string(), nativeName: z.string() }).meta({ id: 'Language' }),
      'LanguageList',
    ),
  },
});
