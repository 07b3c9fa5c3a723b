/**
 * Errors of databases under the names of `/tablesdb`: a table is a collection, a row a document, a column an attribute. Each has an
 * equivalent in the catalog; `http/tables.ts` converts between them.
 */
export const tableErrors = {
  column_already_exists: { status: 409, message: 'The table already has a column or index with this key.' },
  column_default_unsupported: { status: 400, message: 'A required column or an array cannot have a default.' },
  column_index_already_exists: { status: 409, message: 'The table already has an index with this key.' },
  column_index_invalid: { status: 400, message: 'The index is not valid.' },
  column_index_limit_exceeded: { status: 400, message: 'The table has reached its maximum number of indexes.' },
  column_index_not_found: { status: 404, message: 'There is no such index.' },
  column_invalid_resize: { status: 400, message: 'A row has a longer value than the new size allows.' },
  column_limit_exceeded: { status: 400, message: 'The table has reached its maximum number of columns.' },
  column_not_found: { status: 404, message: 'There is no such column.' },
  column_type_invalid: { status: 400, message: 'The column has another type.' },
  column_unknown: { status: 400, message: 'The table has no such column.' },
  column_value_invalid: { status: 400, message: 'A value does not fit the column.' },
  row_already_exists: { status: 409, message: 'A row with this id already exists.' },
  row_delete_restricted: { status: 403, message: 'The row cannot be deleted, as other rows are related to it.' },
  row_invalid_structure: { status: 400, message: 'The row does not fit the columns of the table.' },
  row_missing_data: { status: 400, message: 'The row has no data.' },
  row_missing_payload: { status: 400, message: 'There is nothing to change. Send data, permissions or both.' },
  row_not_found: { status: 404, message: 'There is no such row.' },
  row_unique_constraint_violation: {
    status: 409,
    message: 'Another row already has these values in a unique index.',
  },
  table_already_exists: { status: 409, message: 'A table with this id already exists.' },
  table_limit_exceeded: { status: 400, message: 'The project has reached its maximum number of tables.' },
  table_not_found: { status: 404, message: 'There is no such table.' },
} as const;
