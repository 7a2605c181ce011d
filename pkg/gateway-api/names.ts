/**
 * Names and numbers that several kinds of Gateway API share. Source: sigs.k8s.io/gateway-api apis/v1/shared_types.go.
 */
import { s } from "../operator/custom-resource/fields.ts"

export const group = s.string({
  maxLength: 253,
  pattern: "^$|^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
})

export const kind = s.string({ minLength: 1, maxLength: 63, pattern: "^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$" })

export const objectName = s.string({ minLength: 1, maxLength: 253 })

export const namespace = s.string({ minLength: 1, maxLength: 63, pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" })

export const sectionName = s.string({
  minLength: 1,
  maxLength: 253,
  pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
})

export const hostname = s.string({
  minLength: 1,
  maxLength: 253,
  pattern: "^(\\*\\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
})

/** A hostname without a wildcard. */
export const preciseHostname = sectionName

export const portNumber = s.integer({ minimum: 1, maximum: 65535, format: "int32" })

export const controllerName = s.string({
  minLength: 1,
  maxLength: 253,
  pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\\/[A-Za-z0-9\\/\\-._~%!$&'()*+,;=:]+$",
})

export const headerName = s.string({ minLength: 1, maxLength: 256, pattern: "^[A-Za-z0-9!#$%&'*+\\-.^_\\x60|~]+$" })

export const duration = s.string({ pattern: "^([0-9]{1,5}(h|m|s|ms)){1,4}$" })
