import { forbidden } from "../../../../pkg/apimachinery/errors.ts"
import type { Operation } from "../../webhooks/review.ts"
import type { AdmissionAttributes, AdmissionPlugin } from "../admission.ts"

const OPERATIONS: readonly Operation[] = ["CREATE", "UPDATE", "DELETE", "CONNECT"]

/** Admits every request. Source: plugin/pkg/admission/admit, which is deprecated. */
export const alwaysAdmit: AdmissionPlugin = { name: "AlwaysAdmit", operations: OPERATIONS }

const deny = ({ resource, name }: AdmissionAttributes): never => {
  throw forbidden(resource, name, "admission control is denying all modifications")
}

/** Refuses every request that changes something. Source: plugin/pkg/admission/deny, which is deprecated. */
export const alwaysDeny: AdmissionPlugin = { name: "AlwaysDeny", operations: OPERATIONS, admit: deny, validate: deny }
