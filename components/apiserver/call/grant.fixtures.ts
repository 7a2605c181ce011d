import type { Grant } from "./grant.ts"

/** For tests of what comes behind authorization. */
export const GRANT = {} as Grant
