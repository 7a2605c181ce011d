import { unfitRuntime } from "./runtime.ts"

/** Importing this module throws where the runtime is too old, before anything fails with a message of its own. */
const why = unfitRuntime(process.versions)
if (why !== undefined) throw new Error(why)
