import { loaded } from "../../../pkg/clock/clock.ts"
import type { Audit, AuditConfig, AuditParts } from "./create-audit.ts"

/** Makes the audit log; the code for that is loaded only where it is configured. @throws Error, ConfigurationError */
export async function openedAudit(config: AuditConfig | undefined, parts: AuditParts): Promise<Audit | undefined> {
  if (config === undefined) return undefined
  const { createAudit } = await loaded(parts.clock, import("./create-audit.ts"))
  return createAudit(config, parts)
}
