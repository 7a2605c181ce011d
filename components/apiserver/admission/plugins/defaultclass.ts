import { PersistentVolumeClaim } from "../../../../pkg/api/core/v1/persistentvolume/persistentvolumeclaim.ts"
import { BETA_STORAGE_CLASS } from "../../../../pkg/api/core/v1/persistentvolume/volume-matching.ts"
import { Ingress } from "../../../../pkg/api/networking/v1/ingress.ts"
import { IngressClass } from "../../../../pkg/api/networking/v1/ingressclass.ts"
import { defaultClass, StorageClass } from "../../../../pkg/api/storage/v1/storageclass.ts"
import { forbidden } from "../../../../pkg/apimachinery/errors.ts"
import type { KubeObject } from "../../../../pkg/apimachinery/resource.ts"
import { on, type AdmissionPlugin } from "../admission.ts"
import type { AdmissionContext } from "../context.ts"

const DEFAULT_INGRESS_CLASS = "ingressclass.kubernetes.io/is-default-class"
const INGRESS_CLASS_ANNOTATION = "kubernetes.io/ingress.class"

const marked = <T extends KubeObject>(classes: readonly T[], annotation: string): readonly T[] =>
  classes.filter(({ metadata }) => metadata.annotations?.[annotation] === "true")

/**
 * Gives a claim that names no class the default StorageClass; the newest when several are marked as default. Source:
 * plugin/pkg/admission/storage/storageclass/setdefault.
 */
export const defaultStorageClass = ({ objects }: AdmissionContext): AdmissionPlugin =>
  on(PersistentVolumeClaim, {
    name: "DefaultStorageClass",
    operations: ["CREATE"],
    admit({ object: claim }) {
      if (claim.spec.storageClassName !== undefined || claim.metadata.annotations?.[BETA_STORAGE_CLASS] !== undefined)
        return undefined
      const wanted = defaultClass(objects.list(StorageClass))
      return wanted === undefined
        ? undefined
        : { ...claim, spec: { ...claim.spec, storageClassName: wanted.metadata.name } }
    },
  })

/**
 * Gives an Ingress that names no class the default IngressClass. The newest is taken when several defaults have the
 * same controller; defaults of different controllers are refused. Source:
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
