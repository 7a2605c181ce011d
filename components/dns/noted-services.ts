import type { Service } from "../../pkg/api/core/v1/service/service.ts"
import { keyFrom } from "../../pkg/client/informer.ts"
import type { EventRecorder } from "../../pkg/controller/events.ts"
import type { Logger } from "../../pkg/log/log.ts"
import { editionOf } from "../../pkg/quarantine/edition.ts"
import type { Quarantine } from "../../pkg/quarantine/quarantine.ts"
import { skippedBy } from "../../pkg/quarantine/seam.ts"

/** A Service is set aside, or is suspected of having ended the process: its names get SERVFAIL. */
export class ServiceLeftOut extends Error {
  override readonly name = "ServiceLeftOut"
}

/** Works out the records of Services, and notes each meanwhile. */
export interface ServicesAlone {
  /** @throws ServiceLeftOut */
  run<T>(service: Service, work: () => T): T
}

/** Without a record of what ended the process. */
export const unnoted: ServicesAlone = { run: (_service, work) => work() }

/** The same, for what `quarantine` sets aside. */
export function notedServices(
  quarantine: Quarantine,
  { events, log }: { readonly events: Pick<EventRecorder, "event">; readonly log: Logger },
): ServicesAlone {
  const place = quarantine.place("dns")
  const reported = new Set<string>()
  return {
    run(service, work) {
      const key = keyFrom(service.metadata)
      const fate = place.fate(key, () => editionOf(service))
      if (fate === "go") {
        reported.delete(key)
        return place.among(key, work)
      }
      if (fate === "skip" && !reported.has(key)) {
        reported.add(key)
        log.error("Skipping the names of a Service", { service: key })
        events.event(service, "Warning", "SetAside", skippedBy("dns"))
      }
      throw new ServiceLeftOut(`the names of Service ${key} are left out`)
    },
  }
}
