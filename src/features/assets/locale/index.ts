import { implement } from '#src/contract/operation.js';
import { lazy } from '#src/platform/runtime/lazy.js';
import { localeApi } from './api.js';

/** Countries, currencies and languages: public facts. Nothing is stored. */
export function createLocaleFacts() {
  const facts = lazy(() => import('./service.js'));
  // Cached: both are the same for every caller and take some milliseconds to compute.
  const codes = lazy(async () => (await facts.get()).listCodes());
  const currencies = lazy(async () => (await facts.get()).listCurrencies());
  const operations = implement(localeApi, {
    get: async ({ request }) => {
      const { languageOf, unknownRegion } = await facts.get();
      const unknown = unknownRegion(languageOf(request.locale));
      const nowhere = { countryCode: '--', country: unknown, continentCode: '--', continent: unknown };
      return { ip: request.ip, ...nowhere, eu: false, currency: '' };
    },
    listCodes: async () => {
      const localeCodes = await codes.get();
      return { total: localeCodes.length, localeCodes };
    },
    listContinents: async ({ request }) => {
      const { languageOf, listContinents } = await facts.get();
      const continents = listContinents(languageOf(request.locale));
      return { total: continents.length, continents };
    },
    listCountries: async ({ request }) => {
      const { languageOf, listCountries } = await facts.get();
      const countries = listCountries(languageOf(request.locale));
      return { total: countries.length, countries };
    },
    listCountriesEU: async ({ request }) => {
      const { languageOf, listCountriesEU } = await facts.get();
      const countries = listCountriesEU(languageOf(request.locale));
      return { total: countries.length, countries };
    },
    listCountriesPhones: async ({ request }) => {
      const { languageOf, listPhones } = await facts.get();
      const phones = listPhones(languageOf(request.locale));
      return { total: phones.length, phones };
    },
    listCurrencies: async () => {
      const all = await currencies.get();
      return { total: all.length, currencies: all };
    },
    listLanguages: async () => {
      const languages = (await facts.get()).listLanguages();
      return { total: languages.length, languages };
    },
  });
  return { operations };
}
