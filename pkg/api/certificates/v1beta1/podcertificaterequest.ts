import { deepEqual } from "../../../apimachinery/json/equal.ts"
import { f } from "../../../apimachinery/fields.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"
import { invalidWithoutValue } from "../../../apimachinery/validation/field-errors.ts"
import { requestFaults } from "./podcertificaterequest-validation.ts"
import { statusChangeFaults } from "./podcertificaterequest-status-validation.ts"
import { PodCertificateRequestSpec, PodCertificateRequestStatus } from "./podcertificaterequestspec.ts"

/**
 * Source: k8s.io/api certificates/v1beta1/types.go, pkg/registry/certificates/podcertificaterequest/strategy.go. Served
 * only where `--runtime-config` and the gate PodCertificateRequest say so.
 */

export const ISSUED = "Issued"
export const DENIED = "Denied"
export const FAILED = "Failed"

const fields = {
  spec: f.message(2, PodCertificateRequestSpec, "The key, and for whom the certificate is.").required().ownRule(),
  status: f.message(3, PodCertificateRequestStatus, "The decision, and the certificate.").always().ownRule(),
}
export interface PodCertificateRequest extends ObjectFor<typeof fields> {}

export const PodCertificateRequest = defineResource(
  {
    group: "certificates.k8s.io",
    version: "v1beta1",
    kind: "PodCertificateRequest",
    plural: "podcertificaterequests",
    scope: "Namespaced",
    offByDefault: true,
    doc: "A request of a kubelet to a signer for the certificate of a pod, which a projected volume shows.",
    allowUnconditionalUpdate: false,
    ageColumn: false,
    columns: [
      { name: "PodName", type: "string", doc: "Name of the pod.", value: ({ spec }) => spec.podName },
      {
        name: "ServiceAccountName",
        type: "string",
        doc: "Name of the pod's service account.",
        value: ({ spec }) => spec.serviceAccountName,
      },
      { name: "NodeName", type: "string", doc: "Name of the pod's node.", value: ({ spec }) => spec.nodeName },
      { name: "SignerName", type: "string", doc: "Name of the signer.", value: ({ spec }) => spec.signerName },
      {
        name: "State",
        type: "string",
        doc: "Pending, Issued, Denied or Failed.",
        value: ({ status }) =>
          status.conditions?.findLast(({ type }) => [ISSUED, DENIED, FAILED].includes(type))?.type ?? "Pending",
      },
    ],
    fieldSelectors: {
      "spec.signerName": ({ spec }) => spec.signerName,
      "spec.podName": ({ spec }) => spec.podName,
      "spec.nodeName": ({ spec }) => spec.nodeName,
    },
    subresources: {
      status: { resets: [["spec"]], validateUpdate: (request, old) => statusChangeFaults(request, old) },
    },
    validateCreate: ({ spec }) => requestFaults(spec),
    validateUpdate: ({ spec }, old) =>
      deepEqual(spec, old.spec) ? [] : [invalidWithoutValue("spec", "field is immutable")],
  },
  fields,
)
