/** The requests that both servers get. Their order counts: what some write, others read. */
import { ADMITTED } from "./admission-requests.ts"
import { AUDITED, REGISTERED } from "./audited-requests.ts"
import { DECIDED } from "./authorization-requests.ts"
import type { Sent } from "./sent.ts"
import { NAMESPACES, RIGHTS } from "./setup-requests.ts"
import { IMPERSONATED, PATHS, USERS } from "./sign-in-requests.ts"

const SLOW = /webhook's failure|broken|in strict$|watches$/
export const REQUESTS: readonly Sent[] = [
  ...NAMESPACES,
  ...RIGHTS,
  ...REGISTERED,
  ...USERS,
  ...IMPERSONATED,
  ...PATHS,
  ...DECIDED,
  ...ADMITTED,
  ...AUDITED,
].map((sent) => (SLOW.test(sent.title) && sent.setup !== true ? { ...sent, isSlow: true } : sent))
