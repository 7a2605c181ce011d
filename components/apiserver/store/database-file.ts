import { join } from "node:path"

/** The database below the folder of a server, `<data-dir>/server`. */
export const DATABASE = join("db", "state.db")

/** Returns the database file of a data directory. */
export const databaseFile = (dataDir: string): string => join(dataDir, "server", DATABASE)
