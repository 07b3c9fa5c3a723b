const text = /* GraphQL */ `
  "Any JSON value. Whole numbers may have 64 bits."
  scalar JSON

  "A document of a collection."
  type Document {
    id: String!
    "The attributes of its collection, and the documents that populate names."
    data: JSON!
    permissions: [String!]!
    createdAt: String!
    updatedAt: String!
  }

  type DocumentList {
    total: Int!
    documents: [Document!]!
  }

  type Collection {
    id: String!
    name: String!
    "As the REST interface shows them."
    attributes: [JSON!]!
  }

  type CollectionList {
    total: Int!
    collections: [Collection!]!
  }

  type Query {
    documentGet(databaseId: String!, collectionId: String!, documentId: String!, populate: [String!]): Document
    documentList(databaseId: String!, collectionId: String!, queries: [String!], populate: [String!]): DocumentList
    collectionList(databaseId: String!): CollectionList
  }

  type Mutation {
    documentCreate(
      databaseId: String!
      collectionId: String!
      documentId: String!
      data: JSON!
      permissions: [String!]
    ): Document
    documentUpdate(
      databaseId: String!
      collectionId: String!
      documentId: String!
      data: JSON
      permissions: [String!]
    ): Document
    documentDelete(databaseId: String!, collectionId: String!, documentId: String!): Document
  }
`;

/** The schema of the GraphQL endpoint. Each root field has an entry in `resolvers.ts`. */
export const sdl = text.replace(/^ {2}/gm, '').trim();
