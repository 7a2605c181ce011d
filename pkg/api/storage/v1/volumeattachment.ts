import { goForm } from "../../../apimachinery/go/go-form.ts"
import type { Cause } from "../../../apimachinery/errors.ts"
import { deepEqual } from "../../../apimachinery/json/equal.ts"
import {
  at,
  forbiddenField,
  invalidValue,
  invalidValues,
  required,
  tooLong,
  within,
} from "../../../apimachinery/validation/field-errors.ts"
import { e, f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { isDNS1123Subdomain } from "../../../apimachinery/validation/names.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"
import { driverName } from "../../core/v1/path-validation.ts"
import { inlineVolumeSpecFaults } from "../../core/v1/persistentvolume/persistentvolume-validation.ts"
import { PersistentVolumeSpec } from "../../core/v1/persistentvolume/persistentvolumespec.ts"
import { withMetadataOf } from "../../status-metadata.ts"

/**
 * Source: k8s.io/api storage/v1/types.go, pkg/registry/storage/volumeattachment/strategy.go, ValidateVolumeAttachment
 * in pkg/apis/storage/validation.
 */

export const VolumeAttachmentSource = message(
  "storage.v1.VolumeAttachmentSource",
  "The volume that is to be attached.",
  {
    persistentVolumeName: f.string(1, "Name of the PersistentVolume.").pointer(),
    inlineVolumeSpec: f.message(2, PersistentVolumeSpec, "The volume itself, for an inline volume of a pod.").ownRule(),
  },
)
export interface VolumeAttachmentSource extends ObjectOf<typeof VolumeAttachmentSource> {}

export const VolumeAttachmentSpec = message(
  "storage.v1.VolumeAttachmentSpec",
  "Which volume is attached to which node.",
  {
    attacher: f.string(1, "The driver that attaches the volume.").required(),
    source: f.message(2, VolumeAttachmentSource, "The volume.").required(),
    nodeName: f.string(3, "The node.").required().ownRule(),
  },
)
export interface VolumeAttachmentSpec extends ObjectOf<typeof VolumeAttachmentSpec> {}

export const VolumeError = message("storage.v1.VolumeError", "An error while attaching or detaching.", {
  time: f.time(1, "When.").orNull(),
  message: f.string(2, "The volume to attach."),
  errorCode: f.int32(3, "Number of the gRPC error.").pointer(),
})
export interface VolumeError extends ObjectOf<typeof VolumeError> {}

export const VolumeAttachmentStatus = message("storage.v1.VolumeAttachmentStatus", "State of the attachment.", {
  attached: f.bool(1, "Whether it is attached.").default(false).printZero(),
  attachmentMetadata: f.map(2, e.string, "Data of the driver for mounting the volume."),
  attachError: f.message(3, VolumeError, "The error of the last attempt to attach."),
  detachError: f.message(4, VolumeError, "The error of the last attempt to detach."),
})
export interface VolumeAttachmentStatus extends ObjectOf<typeof VolumeAttachmentStatus> {}

const fields = {
  spec: f.message(2, VolumeAttachmentSpec, "Which volume is attached to which node.").required(),
  status: f.message(3, VolumeAttachmentStatus, "State of the attachment.").always(),
}
export interface VolumeAttachment extends ObjectFor<typeof fields> {}

export const VolumeAttachment = defineResource(
  {
    group: "storage.k8s.io",
    version: "v1",
    kind: "VolumeAttachment",
    plural: "volumeattachments",
    scope: "Cluster",
    upstreamChecks: { metadataUpdate: 0, wholeMetadata: 1 },
    doc: "A request to attach a volume to a node.",
    subresources: {
      status: {
        resets: [["metadata"], ["spec"]],
        prepareForUpdate: (object, old) => withMetadataOf(object, old),
      },
    },
    columns: [
      {
        name: "Attacher",
        type: "string",
        format: "name",
        doc: "Name of the driver that attaches the volume.",
        value: ({ spec }) => spec.attacher,
      },
      {
        name: "PV",
        type: "string",
        doc: "Name of the PersistentVolume.",
        value: ({ spec }) => spec.source.persistentVolumeName ?? "",
      },
      { name: "Node", type: "string", doc: "Name of the node.", value: ({ spec }) => spec.nodeName },
      {
        name: "Attached",
        type: "boolean",
        doc: "Whether the volume is attached.",
        value: ({ status }) => status.attached,
      },
    ],
    allowUnconditionalUpdate: false,
    returnsDeletedObject: true,
    validate: ({ spec, status }) => [
      ...(spec.attacher === "" ? [] : driverName("spec.attacher", spec.attacher)),
      ...sourceFaults(spec.source),
      ...invalidValues("spec.nodeName", spec.nodeName, isDNS1123Subdomain(spec.nodeName)),
      ...statusFaults(status),
    ],
    validateUpdate: ({ spec }, old) =>
      deepEqual(spec, old.spec) ? [] : [invalidValue("spec", goForm(VolumeAttachmentSpec, spec), "field is immutable")],
  },
  fields,
)

const EITHER = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"

function sourceFaults({
  persistentVolumeName: name,
  inlineVolumeSpec: inline,
}: VolumeAttachmentSource): readonly Cause[] {
  const causes: Cause[] = []
  if (name === undefined && inline === undefined) causes.push(required("spec.source", EITHER))
  else if (name !== undefined && inline !== undefined) causes.push(forbiddenField("spec.source", EITHER))
  else if (name === "")
    causes.push(required("spec.source.persistentVolumeName", "must specify non empty persistentVolumeName"))
  else if (inline !== undefined) within(causes, inlineVolumeSpecFaults(inline), "spec.source.inlineVolumeSpec")
  return name === undefined
    ? causes
    : [...causes, ...invalidValues("spec.source.persistentVolumeName", name, isDNS1123Subdomain(name))]
}

const MOST_METADATA_BYTES = 256 * 1024
const LONGEST_ERROR = 1024

function statusFaults({ attachmentMetadata = {}, attachError, detachError }: VolumeAttachmentStatus): readonly Cause[] {
  const causes: Cause[] = []
  const bytes = Object.entries(attachmentMetadata).reduce(
    (sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value),
    0,
  )
  if (bytes > MOST_METADATA_BYTES) causes.push(tooLong("status.attachmentMetadata", MOST_METADATA_BYTES))
  for (const [field, error] of [
    ["attachError", attachError],
    ["detachError", detachError],
  ] as const) {
    if (error === undefined) continue
    // Upstream's message contains another limit.
    if (Buffer.byteLength(error.message ?? "") > LONGEST_ERROR)
      causes.push(tooLong(at("status", field, "message"), MOST_METADATA_BYTES))
    if (error.errorCode !== undefined && error.errorCode < 0)
      causes.push(
        invalidValue(at("status", field, "errorCode"), error.errorCode, "must be between 0 and 2147483647, inclusive"),
      )
  }
  return causes
}
