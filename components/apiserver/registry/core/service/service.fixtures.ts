import { builtinScheme } from "../../../../../pkg/api/scheme.ts"
import { familyOf } from "../../../../../pkg/apimachinery/addresses/cidr.ts"
import { newClient } from "../../../../../pkg/client/new-client.ts"
import { realClock } from "../../../../../pkg/clock/real.ts"
import { seededRandom } from "../../../../../pkg/clock/random.ts"
import { silent } from "../../../../../pkg/log/log.ts"
import { MemoryStorage } from "../../../../../pkg/storage/memory.ts"
import type { Storage } from "../../../../../pkg/storage/storage.ts"
import { startApiCore } from "../../../api-core.ts"

/** Starts an API server without HTTP on a store in memory, and makes a client of its administrator. */
export const startServices = async ({
  serviceCidrs = ["10.43.0.0/16"],
  storage = new MemoryStorage({ clock: realClock, frozen: true }) as Storage,
} = {}) => {
  const plane = await startApiCore({
    storage,
    clock: realClock,
    random: seededRandom(1),
    log: silent,
    scheme: builtinScheme(),
    serviceCidrs,
    frontProxy: () => ({ certPem: "", keyPem: "" }),
    nodePorts: { first: 30000, last: 32767 },
    advertiseAddress: familyOf(serviceCidrs[0]!) === "IPv4" ? "192.0.2.1" : "2001:db8::1",
    port: 6443,
    apiAudiences: ["api"],
    reviewToken: () => undefined,
    tokenIssuer: { issue: () => ({ token: "", expiresAt: 0, id: "1" }) },
  })
  return {
    plane,
    storage,
    admin: newClient(plane.transportFor({ name: "admin", groups: ["system:masters", "system:authenticated"] })),
  }
}
