import type { Cause } from "../../../apimachinery/errors.ts"
import { deepEqual } from "../../../apimachinery/json/equal.ts"
import { invalidValue, invalidValues } from "../../../apimachinery/validation/field-errors.ts"
import { f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { goForm } from "../../../apimachinery/go/go-form.ts"
import {
  isDNS1123Subdomain,
  isCanonicalIPAddress,
  isPathSegmentName,
  type Check,
} from "../../../apimachinery/validation/names.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"

/** Source: k8s.io/api networking/v1/types.go, ValidateIPAddress in pkg/apis/networking/validation. */

export const ParentReference = message("networking.v1.ParentReference", "The object that an address belongs to.", {
  group: f.string(1, "Group of the resource."),
  resource: f.string(2, "The resource, such as services.").required(),
  namespace: f.string(3, "Namespace of the object."),
  name: f.string(4, "Name of the object.").required(),
})
export interface ParentReference extends ObjectOf<typeof ParentReference> {}

export const IPAddressSpec = message("networking.v1.IPAddressSpec", "The owner of an address.", {
  parentRef: f.message(1, ParentReference, "The object that uses the address.").required().pointer(),
})
export interface IPAddressSpec extends ObjectOf<typeof IPAddressSpec> {}

const fields = {
  spec: f.message(2, IPAddressSpec, "The owner of the address.").required(),
}
export interface IPAddress extends ObjectFor<typeof fields> {}

export const IPAddress = defineResource(
  {
    group: "networking.k8s.io",
    version: "v1",
    kind: "IPAddress",
    plural: "ipaddresses",
    shortNames: ["ip"],
    scope: "Cluster",
    upstreamChecks: { wholeMetadata: 1 },
    doc: "An address that is taken; its name is the address.",
    ageColumn: false,
    columns: [
      {
        name: "ParentRef",
        type: "string",
        doc: "The object that uses the address.",
        value: ({
          spec: {
            parentRef: { group, resource, namespace, name },
          },
        }) => [[resource, group].filter(Boolean).join("."), namespace, name].filter(Boolean).join("/"),
      },
    ],
    validateName: isCanonicalIPAddress,
    validateSpec: ({ spec: { parentRef } }) => parentFaults(parentRef),
    validateSpecUpdate: ({ spec }, old) =>
      deepEqual(spec.parentRef, old.spec.parentRef)
        ? []
        : [
            invalidValue(
              "spec.parentRef",
              spec.parentRef && goForm(ParentReference, spec.parentRef),
              "field is immutable",
            ),
          ],
  },
  fields,
)

function parentFaults({ group = "", resource, namespace = "", name }: ParentReference): readonly Cause[] {
  const checked = (field: string, value: string, check: Check) =>
    value === "" ? [] : invalidValues(`spec.parentRef.${field}`, value, check(value))
  return [
    ...checked("group", group, isDNS1123Subdomain),
    ...checked("resource", resource, isPathSegmentName),
    ...checked("name", name, isPathSegmentName),
    ...checked("namespace", namespace, isPathSegmentName),
  ]
}
