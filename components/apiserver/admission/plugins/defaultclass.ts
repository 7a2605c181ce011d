import { PersistentVolumeClaim } from "../../../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { Ingress } from "../../../../pkg/api/networking/v1/ingress.ts"
import { IngressClass } from "../../../../pkg/api/networking/v1/ingressclass.ts"
import { StorageClass } from "../../../../pkg/api/storage/v1/storageclass.ts"
import { forbidden } from "../../../../pkg/apimachinery/errors.ts"
import type { KubeObject } from "../../../../pkg/apimachinery/resource.ts"
import { on, type AdmissionPlugin } from "../admission.ts"
import type { AdmissionContext } from "../context.ts"

const DEFAULT_STORAGE_CLASS = "storageclass.kubernetes.io/is-default-class"
const DEFAULT_INGRESS_CLASS = "ingressclass.kubernetes.io/is-default-class"
const INGRESS_CLASS_ANNOTATION = "kubernetes.io/ingress.class"
const STORAGE_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"

const marked = <T extends KubeObject>(classes: readonly T[], annotation: string): readonly T[] =>
  classes.filter(({ metadata }) => metadata.annotations?.[annotation] === "true")

/**
 * A claim that names no class gets the default one; of several the newest. Source:
 * plugin/pkg/admission/storage/storageclass/setdefault.
 */
export const defaultStorageClass = ({ objects }: AdmissionContext): AdmissionPlugin =>
  on(PersistentVolumeClaim, {
    name: "DefaultStorageClass",
    operations: ["CREATE"],
    admit({ object: claim }) {
      if (
        claim.spec.storageClassName !== undefined ||
        claim.metadata.annotations?.[STORAGE_CLASS_ANNOTATION] !== undefined
      )
        return undefined
      const [newest] = [...marked(objects.list(StorageClass), DEFAULT_STORAGE_CLASS)].sort((a, b) => byAge(b, a))
      return newest === undefined
        ? undefined
        : { ...claim, spec: { ...claim.spec, storageClassName: newest.metadata.name } }
    },
  })

/**
 * The same for an Ingress; here several defaults of one controller are no fault, of several they are. Source:
 * plugin/pkg/admission/network/defaultingressclass.
 */
export const defaultIngressClass = ({ objects }: AdmissionContext): AdmissionPlugin =>
  on(Ingress, {
    name: "DefaultIngressClass",
    operations: ["CREATE"],
    admit({ resource, object: ingress, name }) {
      if (
        ingress.spec.ingressClassName !== undefined ||
        ingress.metadata.annotations?.[INGRESS_CLASS_ANNOTATION] !== undefined
      )
        return undefined
      const classes = [...marked(objects.list(IngressClass), DEFAULT_INGRESS_CLASS)].sort((a, b) => byAge(b, a))
      const [newest] = classes
      if (newest === undefined) return undefined
      if (new Set(classes.map(({ spec }) => spec?.controller)).size > 1)
        throw forbidden(resource, name, `${classes.length} default IngressClasses were found, only 1 allowed`)
      return { ...ingress, spec: { ...ingress.spec, ingressClassName: newest.metadata.name } }
    },
  })

const byAge = ({ metadata: a }: KubeObject, { metadata: b }: KubeObject): number =>
  a.creationTimestamp === b.creationTimestamp
    ? (a.name ?? "") < (b.name ?? "")
      ? 1
      : -1
    : (a.creationTimestamp ?? "") < (b.creationTimestamp ?? "")
      ? -1
      : 1
