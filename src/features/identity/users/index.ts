export { createUserChanges, type UserChanges } from './changes.js';
export { creationTimes, importedOf, labelList, preferences, preferencesShape } from './input.js';
export { passwordText } from './password-policy.js';
export { accountRecord, type ImportedMembers, isAnonymous, isSelfMade, refusalRecord } from './record.js';
export { createUsers, type Users } from './service.js';
export { sealedPasswords, userTable } from './store.js';
export { targetShape, toTarget, toUser, userShape } from './view.js';
