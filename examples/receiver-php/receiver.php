<?php
/**
 * Receives the webhooks of Parley and logs each event once. PHP 8.1 or later, standard library alone.
 *
 *     WEBHOOK_SECRET='the secret of the registration' php -S 127.0.0.1:8000 receiver.php
 */

declare(strict_types=1);

const MAX_BODY_BYTES = 1024 * 1024;

/** X-Service-Signature is the HMAC-SHA256 of the body's bytes, in hexadecimal. */
function isSigned(string $body, string $signature): bool
{
    return hash_equals(hash_hmac('sha256', $body, getenv('WEBHOOK_SECRET')), $signature);
}

/**
 * Stores the event under its id; false if it is stored already. A delivery may arrive more than once, and linking a
 * complete file fails where the name exists, so that each event takes effect once.
 */
function store(string $id, string $body): bool
{
    $folder = getenv('MESSAGES') ?: __DIR__ . '/messages';
    if (!is_dir($folder)) {
        mkdir($folder, 0700, true);
    }
    $draft = tempnam($folder, 'draft-');
    $file = fopen($draft, 'w');
    fwrite($file, $body);
    fsync($file);
    fclose($file);
    $isNew = @link($draft, $folder . '/' . hash('sha256', $id) . '.json');
    unlink($draft);
    return $isNew;
}

/** The work of the shop: here it logs the event. */
function handle(array $envelope): void
{
    if ($envelope['event'] !== 'whatsapp.message.received') {
        error_log($envelope['event'] . ': ' . $envelope['change'] . ' ' . $envelope['data']['id']);
        return;
    }
    $message = $envelope['message'];
    error_log($envelope['contact']['phone'] . ': ' . ($message['text'] ?? $message['type']));
}

$body = file_get_contents('php://input', length: MAX_BODY_BYTES + 1);
if (strlen($body) > MAX_BODY_BYTES) {
    http_response_code(413);
} elseif (!isSigned($body, $_SERVER['HTTP_X_SERVICE_SIGNATURE'] ?? '')) {
    http_response_code(401);
} else {
    $envelope = json_decode($body, true, flags: JSON_THROW_ON_ERROR);
    // Parley repeats a delivery until it is answered with 2xx: answer after the event is stored.
    if (store($_SERVER['HTTP_X_SERVICE_DELIVERY'], $body)) {
        handle($envelope);
    }
    http_response_code(204);
}
