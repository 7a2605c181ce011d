/** Returns the bcrypt hash of a password, with the cost that Go's library has by default. It takes some 50 ms. */
export const bcrypt = (password: string): string =>
  Bun.password.hashSync(password, { algorithm: "bcrypt", cost: 10 }).replace(/^\$2b\$/, "$2a$")
