import type { Debian } from "./debian.ts"
import type { GoModule } from "./go-module.ts"
import type { Npm } from "./npm.ts"

/** Where a program comes from: the registry's ordinary client has it, in a version and with a sum that are pinned. */
export type Origin = GoModule | Debian | Npm
