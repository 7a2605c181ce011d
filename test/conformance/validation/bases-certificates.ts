import { Buffer } from "node:buffer"
import type { Base } from "./base.ts"

const pem = (label: string, ...lines: readonly string[]): string =>
  Buffer.from([`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ""].join("\n")).toString("base64")

/** A certificate request of the user jane in the group developers. */
const request = pem(
  "CERTIFICATE REQUEST",
  "MIHgMIGGAgEAMCQxEzARBgNVBAoMCmRldmVsb3BlcnMxDTALBgNVBAMMBGphbmUw",
  "WTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAARILnUV6o+RvBmeIajJ16R45VFKA16l",
  "tex8ezY8sQzV2+YfxM2TUFj0yQf40mkdHy8UBnq60yenx2ora3NAR0+boAAwCgYI",
  "KoZIzj0EAwIDSQAwRgIhALrY3P+SNo3DRis/aNyZByiS5PMwIxcyMI3AoTibBj3I",
  "AiEAlXgeA2TVoqMREkmwE+k/5J4SKT0c5VF4vx1erltsFsk=",
)
/** A certificate that is signed by its own key and valid until 2126. */
const certificate = pem(
  "CERTIFICATE",
  "MIIBdTCCARugAwIBAgIUODluRIgsDhbvW5A5KMp0wIAVZ64wCgYIKoZIzj0EAwIw",
  "DzENMAsGA1UEAwwEamFuZTAgFw0yNjExMjIxNzE4NDhaGA8yMTI2MTAyOTE3MTg0",
  "OFowDzENMAsGA1UEAwwEamFuZTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABEgu",
  "dRXqj5G8GZ4hqMnXpHjlUUoDXqW17Hx7NjyxDNXb5h/EzZNQWPTJB/jSaR0fLxQG",
  "errTJ6fHaitrc0BHT5ujUzBRMB0GA1UdDgQWBBTPCGykO1MvITaaZAx+QI5kM7tW",
  "CTAfBgNVHSMEGDAWgBTPCGykO1MvITaaZAx+QI5kM7tWCTAPBgNVHRMBAf8EBTAD",
  "AQH/MAoGCCqGSM49BAMCA0gAMEUCIEDrZZIrRW9EGgRpWbPIxTRv3U9NFb/4Gn9D",
  "DGDU31EhAiEAxkE7vsA2jjMSvuyzsfTLiaD5nigfkBRTZ3X42wstLbA=",
)
const time = "2026-01-01T00:00:00Z"

/** Requests for certificates. */
export const CERTIFICATE_BASES: readonly Base[] = [
  {
    kind: "certificates.k8s.io/v1 CertificateSigningRequest",
    name: "minimal",
    body: { spec: { request, signerName: "example.com/signer", usages: ["client auth"] } },
  },
  {
    kind: "certificates.k8s.io/v1 CertificateSigningRequest",
    name: "full",
    body: {
      spec: {
        request,
        signerName: "kubernetes.io/kube-apiserver-client",
        expirationSeconds: 3600,
        usages: ["client auth", "digital signature"],
        username: "somebody",
        uid: "u",
        groups: ["g"],
        extra: { a: ["b"] },
      },
    },
    status: {
      conditions: [
        { type: "Failed", status: "True", reason: "R", message: "m", lastUpdateTime: time, lastTransitionTime: time },
        { type: "Own", status: "False", lastUpdateTime: time, lastTransitionTime: time },
      ],
    },
  },
  {
    kind: "certificates.k8s.io/v1 CertificateSigningRequest",
    name: "issued",
    body: { spec: { request, signerName: "example.com/signer", usages: ["any"] } },
    status: { certificate },
  },
]
