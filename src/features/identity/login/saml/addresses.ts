/** The addresses by which an identity provider knows us, for one provider of one project. */
interface SamlAddresses {
  /** The address of the metadata, which is our name as well. */
  readonly entityId: string;
  /** The assertion consumer service: where responses are posted. */
  readonly acsUrl: string;
}

/** They follow from the key alone, so that an identity provider can be told before it is added here. */
export function addressesOf(baseUrl: string, projectId: string, key: string): SamlAddresses {
  const start = `${baseUrl.replace(/\/$/, '')}/account/sessions/saml/${key}`;
  const query = `?project=${projectId}`;
  return { entityId: `${start}/metadata${query}`, acsUrl: `${start}/acs${query}` };
}
