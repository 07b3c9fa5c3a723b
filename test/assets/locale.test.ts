// Countries, currencies and languages through the unmodified node-appwrite, and by URL in other languages.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client, Locale } from 'node-appwrite';
import { aServerKey } from '../harness/actors.js';
import { startAppliance } from '../harness/appliance.js';
import { createClient } from '../harness/client.js';

const target = await startAppliance();
const guest = createClient(target);
const client = new Client().setEndpoint(`${target.origin}/v1`).setProject(target.project.id);
const locale = new Locale(client.setKey((await aServerKey(target, { scopes: ['locale.read'] })).secret));

test('lists facts by name or code', async () => {
  const { total, countries } = await locale.listCountries();
  assert.equal(total, countries.length);
  assert.deepEqual({ ...countries[0] }, { name: 'Afghanistan', code: 'AF' });
  assert.ok(total > 240);
  const eu = await locale.listCountriesEU();
  assert.deepEqual([eu.total, { ...eu.countries[0] }], [27, { name: 'Austria', code: 'AT' }]);
  const { phones } = await locale.listCountriesPhones();
  assert.deepEqual({ ...phones[0] }, { code: '+1', countryCode: 'CA', countryName: 'Canada' });
  assert.ok(phones.some(({ code, countryCode }) => code === '+49' && countryCode === 'DE'));
  const { continents } = await locale.listContinents();
  assert.deepEqual(
    continents.map(({ code }) => code),
    ['AF', 'AN', 'AS', 'EU', 'NA', 'OC', 'SA'],
  );
  const { languages } = await locale.listLanguages();
  assert.deepEqual(
    { ...languages.find(({ code }) => code === 'de') },
    { name: 'German', code: 'de', nativeName: 'Deutsch' },
  );
  const { localeCodes } = await locale.listCodes();
  assert.ok(localeCodes.some(({ code, name }) => code === 'pt-PT' && name === 'European Portuguese'));
});

test('lists currencies with their digits and symbols', async () => {
  const { total, currencies } = await locale.listCurrencies();
  assert.equal(total, currencies.length);
  const of = (code: string) => currencies.find((one) => one.code === code);
  assert.deepEqual(
    { ...of('SEK') },
    {
      symbol: 'SEK',
      name: 'Swedish Krona',
      symbolNative: 'kr',
      decimalDigits: 2,
      rounding: 0,
      code: 'SEK',
      namePlural: 'Swedish kronor',
    },
  );
  assert.deepEqual([of('JPY')?.decimalDigits, of('KWD')?.decimalDigits, of('EUR')?.symbol], [0, 3, '€']);
  assert.equal(of('DEM'), undefined, 'not in use');
});

test('names countries in the language of the header, and in English for a tag that is unknown', async () => {
  const table = [
    [{ 'X-Service-Locale': 'de' }, 'Afghanistan', 'Deutschland'],
    [{ 'X-Appwrite-Locale': 'fr-CA' }, 'Afghanistan', 'Allemagne'],
    [{ 'Accept-Language': 'es-MX,es;q=0.9,en;q=0.5' }, 'Afganistán', 'Alemania'],
    [{ 'X-Service-Locale': 'xx-a' }, 'Afghanistan', 'Germany'],
    [{ 'X-Service-Locale': '../../etc' }, 'Afghanistan', 'Germany'],
  ] as const;
  for (const [headers, first, germany] of table) {
    const answer = (await guest.get('/locale/countries', headers)).expect(200);
    const { countries } = answer.body as { countries: { code: string; name: string }[] };
    assert.equal(countries.find(({ code }) => code === 'AF')?.name, first, JSON.stringify(headers));
    assert.equal(countries.find(({ code }) => code === 'DE')?.name, germany);
  }
});

test("returns the caller's country, the address, and nothing else", async () => {
  const { body } = (await guest.get('/locale', { 'Accept-Language': 'de-AT' })).expect(200);
  assert.deepEqual(body, {
    ip: '127.0.0.1',
    countryCode: '--',
    country: 'Unbekannte Region',
    continentCode: '--',
    continent: 'Unbekannte Region',
    eu: false,
    currency: '',
  });
});

test('a key needs the scope', async () => {
  const { client: other } = await aServerKey(target, { scopes: ['avatars.read'] });
  (await other.get('/locale/countries')).refused(401, 'general_unauthorized_scope');
});
