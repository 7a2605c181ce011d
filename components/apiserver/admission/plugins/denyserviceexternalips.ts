import { Service } from "../../../../pkg/api/core/v1/service/service.ts"
import { forbidden } from "../../../../pkg/apimachinery/errors.ts"
import { on, type AdmissionPlugin } from "../admission.ts"

/**
 * Refuses Services with external addresses, since who may create one could take the traffic of any address. Those that
 * a Service has already may stay. Source: plugin/pkg/admission/network/denyserviceexternalips.
 */
export const denyServiceExternalIPs: AdmissionPlugin = on(Service, {
  name: "DenyServiceExternalIPs",
  operations: ["CREATE", "UPDATE"],
  validate({ resource, name, object, old }) {
    const known = new Set(old?.spec.externalIPs)
    if (!(object.spec.externalIPs ?? []).every((address) => known.has(address)))
      throw forbidden(resource, name, "Use of external IPs is denied by admission control")
  },
})
