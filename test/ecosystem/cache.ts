import { homedir } from "node:os"
import { join } from "node:path"

/** Where programs are kept between runs, and the logs of the servers on which they ran. */
export const CACHE = process.env["K3TS_ECOSYSTEM_CACHE"] ?? join(homedir(), ".cache/k3ts-ecosystem")
