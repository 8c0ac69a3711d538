// Receives the webhooks of Parley and prints each event once. Go 1.19 or later, standard library alone.
//
//	WEBHOOK_SECRET='the secret of the registration' PORT=8000 go run receiver.go
package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

const maxBodyBytes = 1024 * 1024

type envelope struct {
	Event string
	// Of whatsapp.message.received.
	Contact struct{ Phone string }
	Message struct {
		Type string
		Text *string
	}
	// Of every other event.
	Change string
	Data   struct{ ID any }
}

// isSigned compares X-Service-Signature, the HMAC-SHA256 of the body's bytes, in hexadecimal.
func isSigned(secret, body []byte, signature string) bool {
	sent, err := hex.DecodeString(signature)
	mac := hmac.New(sha256.New, secret)
	mac.Write(body)
	return err == nil && hmac.Equal(mac.Sum(nil), sent)
}

// store keeps the event under its id and answers whether it is new. A delivery may arrive more than once, and linking a
// complete file fails where the name exists, so that each event takes effect once.
func store(folder, id string, body []byte) (bool, error) {
	draft, err := os.CreateTemp(folder, "draft-")
	if err != nil {
		return false, err
	}
	defer os.Remove(draft.Name())
	_, writeErr := draft.Write(body)
	if err := firstOf(writeErr, draft.Sync(), draft.Close()); err != nil {
		return false, err
	}
	err = os.Link(draft.Name(), filepath.Join(folder, fmt.Sprintf("%x.json", sha256.Sum256([]byte(id)))))
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	return err == nil, err
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// handle does the work of the shop; what it does here is print the event.
func handle(event envelope) {
	if event.Event != "whatsapp.message.received" {
		fmt.Printf("%s: %s %v\n", event.Event, event.Change, event.Data.ID)
		return
	}
	text := event.Message.Type
	if event.Message.Text != nil {
		text = *event.Message.Text
	}
	fmt.Printf("%s: %s\n", event.Contact.Phone, text)
}

// receive answers after the event is stored: Parley repeats a delivery until it is answered with 2xx.
func receive(secret []byte, folder string, request *http.Request) int {
	body, err := io.ReadAll(io.LimitReader(request.Body, maxBodyBytes+1))
	if err != nil {
		return http.StatusBadRequest
	}
	if len(body) > maxBodyBytes {
		return http.StatusRequestEntityTooLarge
	}
	if !isSigned(secret, body, request.Header.Get("X-Service-Signature")) {
		return http.StatusUnauthorized
	}
	var event envelope
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if err := decoder.Decode(&event); err != nil {
		return http.StatusBadRequest
	}
	isNew, err := store(folder, request.Header.Get("X-Service-Delivery"), body)
	if err != nil {
		log.Print(err)
		return http.StatusInternalServerError
	}
	if isNew {
		handle(event)
	}
	return http.StatusNoContent
}

func setting(name, fallback string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return fallback
}

func main() {
	secret := []byte(os.Getenv("WEBHOOK_SECRET"))
	if len(secret) == 0 {
		log.Fatal("WEBHOOK_SECRET is not set")
	}
	folder := setting("MESSAGES", "messages")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		log.Fatal(err)
	}
	answer := func(response http.ResponseWriter, request *http.Request) {
		response.WriteHeader(receive(secret, folder, request))
	}
	server := http.Server{
		Addr:        "127.0.0.1:" + setting("PORT", "8000"),
		Handler:     http.HandlerFunc(answer),
		ReadTimeout: 10 * time.Second,
	}
	log.Fatal(server.ListenAndServe())
}
