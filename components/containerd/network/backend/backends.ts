import type { Backend } from "./backend.ts"
import type { BackendName } from "./backend-names.ts"
import { hostGateway } from "./host-gw.ts"
import { vxlan } from "./vxlan.ts"

/** The backends are loaded with the first other node. */
export const backendOf = (name: Exclude<BackendName, "none">): Backend => (name === "vxlan" ? vxlan : hostGateway)

/** The interfaces of all backends. */
export const DEVICES: readonly string[] = [vxlan, hostGateway].flatMap(({ device }) => device ?? [])
