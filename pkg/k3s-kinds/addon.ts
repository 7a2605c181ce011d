import { defineCustomResource, type ObjectOf } from "../operator/custom-resource/define-custom-resource.ts"
import { s } from "../operator/custom-resource/fields.ts"

/** A manifest of the server's folder, for `kubectl get addons`. Source: k3s-io/k3s pkg/apis/k3s.cattle.io/v1/types.go. */
export const addon = defineCustomResource({
  group: "k3s.cattle.io",
  kind: "Addon",
  plural: "addons",
  scope: "Namespaced",
  versions: {
    v1: {
      storage: true,
      spec: s.object({ source: s.string().optional(), checksum: s.string().optional() }),
      columns: { Source: ".spec.source", Checksum: ".spec.checksum" },
    },
  },
})

export const Addon = addon.kinds.v1
export type Addon = ObjectOf<typeof Addon>
